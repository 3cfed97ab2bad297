import ArgumentParser
@main struct Lifeboat: ParsableCommand {}
