import ArgumentParser

struct Triage: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Say what is wrong with each of thousands of bundles, incidents and stores.",
    discussion: """
      Examples: lifeboat triage Inbox > inbox.ndjson
                find Inbox -name '*.age' | lifeboat triage - -i support.key --group
                lifeboat triage Inbox --catalog cases.sqlite
                lifeboat triage query frequent cases.sqlite

      Each input gives a line of JSON: a signature that equal cases share, counts, sizes, and what helps. The line \
      holds no value of a row. Worker processes read the inputs, one process for each core. If an input makes its \
      process crash, or takes too long, its line gives the reason.

      If a backup lacks some files of a store, such as the log, the store's problem is file.missing.

      Exit status: 0 when nothing is wrong with any input; 1 when an input is to be looked at, or could not be read.
      """,
    subcommands: [TriageRun.self, TriageQuery.self], defaultSubcommand: TriageRun.self)
}
