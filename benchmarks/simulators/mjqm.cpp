// Replays one workload with a policy of mjqm-simulator, in the order of its own event loop:
// ends before arrivals, one event at a time, then `fit_jobs` until it adds none.
// Input: POLICY SERVERS JOBS, then for each job SUBMIT NEED RUN PLANNED. Output: the starts.
#include <iostream>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include <mjqm-policies/BackFilling.h>
#include <mjqm-policies/BackFillingImperfect.h>
#include <mjqm-policies/Smash.h>

int main() {
    std::string name;
    int servers = 0, count = 0;
    std::cin >> name >> servers >> count;
    std::vector<double> submit(count), run(count), planned(count), start(count, -1);
    std::vector<int> need(count);
    std::set<int> distinct;
    for (int i = 0; i < count; ++i) {
        std::cin >> submit[i] >> need[i] >> run[i] >> planned[i];
        distinct.insert(need[i]);
    }
    const std::vector<unsigned int> sizes(distinct.begin(), distinct.end());
    std::map<int, int> class_of;
    for (unsigned int c = 0; c < sizes.size(); ++c) class_of[sizes[c]] = static_cast<int>(c);

    const int classes = static_cast<int>(sizes.size());
    const bool fills = name != "Smash";
    std::unique_ptr<Policy> policy;
    if (name == "BackFilling") policy = std::make_unique<BackFilling>(-3, servers, classes, sizes);
    else if (name == "BackFillingImperfect")
        policy = std::make_unique<BackFillingImperfect>(-13, servers, classes, sizes, 1.0);
    else policy = std::make_unique<Smash>(1, servers, classes);

    const auto& length = name == "BackFilling" ? run : planned;  // what the policy is told
    std::unordered_map<long int, double> told;
    std::multimap<double, int> running;
    const auto start_jobs = [&](double now) {
        for (const auto& jobs : policy->get_ongoing_jobs())
            for (long int id : jobs)
                if (start[id] < 0) {
                    start[id] = now;
                    running.emplace(now + run[id], static_cast<int>(id));
                    if (fills) policy->insert_completion(need[id], now + length[id], id);
                }
    };
    const auto waiting = [&] {
        int jobs = 0;
        for (int some : policy->get_state_buf()) jobs += some;
        return jobs;
    };
    int come = 0;
    while (come < count || !running.empty()) {
        double now = 0;
        if (!running.empty() && (come == count || running.begin()->first <= submit[come])) {
            now = running.begin()->first;
            const int id = running.begin()->second;
            running.erase(running.begin());
            told.erase(id);
            policy->departure(class_of[need[id]], need[id], id);
        } else {
            now = submit[come];
            told[come] = length[come];
            policy->arrival(class_of[need[come]], need[come], come);
            ++come;
        }
        start_jobs(now);
        while (fills && waiting() > 0 && policy->fit_jobs(told, now)) start_jobs(now);
    }
    for (double time : start) std::cout << time << ' ';
    std::cout << '\n';
}
