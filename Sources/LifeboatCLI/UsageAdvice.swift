import StoreExtraction
import ArgumentParser
import Foundation
import Quoting
import SafeText
import Terminal

/// Advice on command lines that the argument parser rejects or would misunderstand.
enum UsageAdvice {
  /// The letters of all single-letter flags.
  private static let letters = Array("0fhinoqv".utf8)

  /// Throws if an argument is a word with one hyphen before it, for example `-dash.sqlite`. The parser would read each
  /// letter of the word as a flag. For the example, it would only show help, because the word contains an `h`.
  static func check(_ arguments: some Sequence<String>) throws(Failure) {
    var previous = ""
    for argument in arguments {
      defer { previous = argument }
      if PathText.isSame(argument, "--") { return }
      // `--order -created` has a value with a dash: it sorts by `created` in descending order.
      if PathText.isSame(previous, "--order") { continue }
      // The parser itself understands `-help`.
      if PathText.isSame(argument, "-help") { continue }
      let bytes = argument.utf8
      guard bytes.count > 2, PathText.starts(argument, with: "-"),
        !PathText.starts(argument, with: "--")
      else { continue }
      let rest = bytes.dropFirst()
      let isNumber = rest.allSatisfy { (0x30...0x39).contains($0) || $0 == UInt8(ascii: ".") }
      // `-o=NEW` is a flag of one letter, followed by its value.
      let hasValue = rest.dropFirst().first == UInt8(ascii: "=")
      if isNumber || hasValue || rest.allSatisfy(letters.contains) { continue }
      throw Failure(
        64, "usage.parser", "\(argument) begins with a hyphen, but is not an option",
        hint: "if it is a file, write it as \(ShellText.path(argument)), or put it after --")
    }
  }

  /// A hint for a command line that names an unknown command. Nil if the command exists, or if the unknown name is
  /// neither similar to a command nor the path of a file.
  static func hint(for arguments: [String]) -> String? {
    var command: any ParsableCommand.Type = Lifeboat.self
    var path = ["lifeboat"]
    for word in arguments {
      let children = command.configuration.subcommands
      guard !children.isEmpty, !PathText.starts(word, with: "-") else { return nil }
      if let child = children.first(where: { names(of: $0).contains(word) }) {
        command = child
        path.append(word)
        continue
      }
      if FileManager.default.fileExists(atPath: word) {
        return "to see what the file is, run: lifeboat inspect \(ShellText.path(word))"
      }
      return NearestName.of(word, among: children.flatMap(names))
        .map { "did you mean: \(path.joined(separator: " ")) \($0)" }
    }
    return nil
  }

  private static func names(of command: any ParsableCommand.Type) -> [String] {
    [command._commandName] + command.configuration.aliases
  }
}
