import ArgumentParser

/// The command `lifeboat triage`, which groups `run` and `query`.
struct Triage: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Say what each of thousands of bundles, incidents and stores is a case of.",
    discussion: """
      Examples: lifeboat triage Inbox > inbox.ndjson
                find Inbox -name '*.age' | lifeboat triage - -i support.key --group
                lifeboat triage Inbox --catalog cases.sqlite
                lifeboat triage query frequent cases.sqlite

      Each input is a line of JSON: a signature that equal cases share, counts, sizes, and what helps. No value of a row \
      is in it. Other processes read the inputs, one for each core; an input that makes one of them crash, or that takes \
      too long, is a line with the reason.

      Exit status: 0 when nothing is wrong with any input; 1 when there is something to be looked at, or an input could \
      not be read.
      """,
    subcommands: [TriageRun.self, TriageQuery.self], defaultSubcommand: TriageRun.self)
}
