import AgeFiles
import ArgumentParser
import Foundation
import SupportBundle
import Terminal

struct BundleKeygen: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "keygen",
    abstract: "Make a key for encrypting or signing bundles.",
    discussion: """
      Examples: lifeboat bundle keygen -o support.key
                lifeboat bundle keygen --signing -o app.key

      The file holds the secret key, and only you can read this file. Give the public key, which is printed, to those \
      who make bundles; they run: lifeboat bundle create Notes.sqlite --to age1… -o Notes.zip.age. The keys have the \
      format of age or, with --signing, of minisign.

      Exit status: 73 when the output exists.
      """)

  @Option(name: .shortAndLong, help: "The file for the secret key.", completion: .file())
  var output: String

  @Flag(name: .long, help: "Make a key for signing bundles.")
  var signing = false

  @OptionGroup(title: "Display") var display: DisplayOptions

  struct Report: Encodable {
    let schema = "lifeboat.key"
    let version = 1
    let output: String
    let publicKey: String
  }

  func run() throws {
    let publicKey: String
    let text: String
    if signing {
      let key = MinisignSecretKey()
      (publicKey, text) = (key.publicKey.text, key.file)
    } else {
      let identity: AgeIdentity
      do { identity = try AgeIdentity() } catch {
        throw Failure(70, error.code.rawValue, error.message)
      }
      publicKey = identity.recipient.text
      text = """
        # created: \(Date().ISO8601Format())
        # public key: \(publicKey)
        \(identity.text)

        """
    }
    try NewText.write(text, to: output, mode: 0o600, Interruption(lettingWorkEnd: true))
    if display.json {
      try display.write(json: Report(output: output, publicKey: publicKey))
    } else {
      try display.write(publicKey + "\n")
      display.note(
        "the secret key is in \(output): keep this file secret, and give others only the "
          + "public key")
    }
  }
}
