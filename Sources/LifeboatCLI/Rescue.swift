import ArgumentParser
struct Rescue: ParsableCommand { func run() throws {} }
struct Demo: ParsableCommand { func run() throws {} }
