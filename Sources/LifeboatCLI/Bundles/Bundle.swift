import ArgumentParser

/// The command `lifeboat bundle`: the group of commands for support bundles.
struct Bundle: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Make, redact, check, list and unpack support bundles.",
    discussion: """
      A bundle is a zip that any unzip tool opens, with manifest.json first. It holds structure only - metadata, \
      version hashes, the model, schema, counts, the incident - unless rows or the store's files are asked for. It can \
      be encrypted to the keys of those who may open it.
      """,
    subcommands: [
      BundleCreate.self, BundleRedact.self, BundleVerify.self, BundleShow.self, BundleList.self,
      BundleExtract.self,
      BundleKeygen.self,
    ])
}
