import AgeFiles
import ArgumentParser
import CLibrary
import Foundation
import SafeText
import SupportBundle
import Terminal

/// `lifeboat bundle keygen`
struct BundleKeygen: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "keygen",
    abstract: "Make a key that bundles can be encrypted to.",
    discussion: """
      Example: lifeboat bundle keygen -o support.key

      The file holds the secret key, for this user only. Give the public key, which is printed, to those who \
      make bundles: lifeboat bundle create Notes.sqlite --to age1… -o Notes.zip.age. Keys are those of age.

      Exit status: 73 when the output exists.
      """)

  @Option(name: .shortAndLong, help: "The file for the secret key.", completion: .file())
  var output: String

  @OptionGroup(title: "Display") var display: DisplayOptions

  struct Report: Encodable {
    let schema = "lifeboat.key"
    let version = 1
    let output: String
    let publicKey: String
  }

  func run() throws {
    let identity: AgeIdentity
    do { identity = try AgeIdentity() } catch {
      throw Failure(70, error.code.rawValue, error.message)
    }
    let publicKey = identity.recipient.text
    let text = """
      # created: \(Date().ISO8601Format())
      # public key: \(publicKey)
      \(identity.text)

      """
    let tree = try OutputTree(in: PathText.folder(of: output), making: { _ = $1() })
    do {
      let file = try tree.makeFile([PathText.lastComponent(of: output)], mode: 0o600)
      defer { _ = close(file) }
      try OutputTree.write(Array(text.utf8)[...], to: file, path: output)
    } catch {
      tree.discard()
      throw error
    }
    if display.json {
      try display.write(json: Report(output: output, publicKey: publicKey))
    } else {
      try display.write(publicKey + "\n")
      display.note("the secret key is in \(output): keep it, and give only the public key away")
    }
  }
}
