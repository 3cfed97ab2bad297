import ArgumentParser

/// `lifeboat bundle`
struct Bundle: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Make, check and list support bundles.",
    discussion: """
      A bundle is a zip that any unzip tool opens, with manifest.json first. It holds structure only - metadata, \
      version hashes, schema, counts, the incident - unless rows or the store's files are asked for.
      """,
    subcommands: [BundleCreate.self, BundleVerify.self, BundleList.self])
}
