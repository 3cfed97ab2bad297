import ArgumentParser
import SafeFiles
import SafeText
import SupportBundle
import Terminal

/// Where a command writes a page for a browser or a picture.
struct PageOutput: ParsableArguments {
  @Option(
    name: .shortAndLong,
    help: "The file to make of a page or picture; without it, standard output.",
    completion: .file())
  var output: String?

  /// The files that the command makes.
  var paths: [String] { output.map { [$0] } ?? [] }

  /// Refuses an output or JSON for what is no page or picture.
  ///
  /// - Parameters:
  ///   - format: the format as it is named on the command line; nil for one that is no page or picture.
  ///   - formats: those that are.
  ///   - display: the display options.
  /// - Throws: `ValidationError`.
  func validate(_ format: String?, among formats: String, _ display: DisplayOptions) throws {
    if let format, display.json {
      throw ValidationError("--json and --format \(format) cannot be used together.")
    }
    if format == nil, output != nil {
      throw ValidationError(
        "--output is for a page or picture: say --format \(formats), or send other forms to a file with >."
      )
    }
  }

  /// Refuses an output that exists, before work that takes long.
  func checkFree() throws {
    guard let output, try FileStatus.of(output) != nil else { return }
    throw BundleError(.outputExists, "the output already exists", path: output)
  }

  /// Writes a page or picture.
  func write(_ text: String, _ display: DisplayOptions) throws {
    guard let output else { return try display.write(text) }
    try NewText.write(text, to: output, mode: 0o644, Interruption(lettingWorkEnd: true))
    if !display.quiet {
      try display.write(
        "written to \(VisibleText.visible(output)), \(Quantity.bytes(UInt64(text.utf8.count)))\n")
    }
  }
}
