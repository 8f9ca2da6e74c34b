"""What a verb is given: a staged function, its arguments, directions and axes; what it returns."""
