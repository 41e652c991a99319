"""The program that is recorded: how it is started, its signals, its terminal and what it prints."""
