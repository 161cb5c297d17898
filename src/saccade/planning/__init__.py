"""What a training takes before it is begun: parameters, FLOPs, memory, time and money. By name it needs no torch."""
