import ArgumentParser
import SafeFiles
import SafeText
import SupportBundle
import Terminal

/// The option that names the file for an HTML page or a picture.
struct PageOutput: ParsableArguments {
  @Option(
    name: .shortAndLong,
    help: "The file to make for a page or picture; by default, standard output.",
    completion: .file())
  var output: String?

  var paths: [String] { output.map { [$0] } ?? [] }

  /// Checks that the options for the output can be used together. `--json` excludes the format of a page or picture,
  /// and `--output` requires such a format.
  ///
  /// `format`: the chosen format of a page or picture; nil if the user chose another format.
  /// `formats`: the formats of pages and pictures, for the message.
  ///
  /// - Throws: `ValidationError` for options that cannot be used together.
  func validate(_ format: String?, among formats: String, _ display: DisplayOptions) throws {
    if let format, display.json {
      throw ValidationError("--json and --format \(format) cannot be used together.")
    }
    if format == nil, output != nil {
      throw ValidationError(
        "--output is for a page or picture: add --format \(formats), or send other formats to a file with >."
      )
    }
  }

  /// Throws if the output file exists already. Call this before work that takes long.
  func checkFree() throws {
    guard let output, try FileStatus.of(output) != nil else { return }
    throw BundleError(.outputExists, "the output already exists", path: output)
  }

  /// Writes a page or picture to the new file, or to standard output if no file is named.
  func write(_ text: String, _ display: DisplayOptions) throws {
    guard let output else { return try display.write(text) }
    try NewText.write(text, to: output, mode: 0o644, Interruption(lettingWorkEnd: true))
    if !display.quiet {
      try display.write(
        "written to \(VisibleText.visible(output)), \(Quantity.bytes(text.utf8.count))\n")
    }
  }
}
