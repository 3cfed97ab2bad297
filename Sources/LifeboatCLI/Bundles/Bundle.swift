import ArgumentParser

extension ArgumentHelp {
  static var bundle: ArgumentHelp {
    "The bundle; for one in an archive, a path such as Mail.zip/Notes.zip."
  }
}

/// The command `lifeboat bundle`: the group of commands for support bundles.
struct Bundle: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Make, redact, check, list and unpack support bundles.",
    discussion: """
      A bundle is a zip archive that any unzip tool opens; its first entry is manifest.json. Unless you ask for rows \
      or for the store's files, it holds structure only: metadata, version hashes, the model, schema, counts and the \
      incident. It can be encrypted to the public keys of those who may open it.
      """,
    subcommands: [
      BundleCreate.self, BundleRedact.self, BundleVerify.self, BundleShow.self, BundleList.self,
      BundleExtract.self,
      BundleKeygen.self,
    ])
}
