FORMULATIONS: dict = {}
