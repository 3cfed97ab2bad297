import ArgumentParser
import Quoting
import SafeText
import StoreExtraction
import SupportBundle
import Terminal

struct BundleExtract: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "extract",
    abstract: "Unpack a bundle into a new folder.",
    discussion: """
      Example: lifeboat bundle extract Notes.zip.age -i support.key -o Notes

      Each entry is compared with the manifest before its file gets its name; entries that differ are left out and \
      listed. The command first says how much it will write, and refuses an archive that would become too large.

      Exit status: 0; 1 when entries were left out; 65 when the file is not a bundle, or was refused because it may do \
      harm; 66 when it is missing; 73 when the folder exists.
      """)

  @Argument(help: .bundle, completion: .file())
  var path: String

  @Option(name: .shortAndLong, help: "The folder to make.", completion: .directory)
  var output: String

  @Option(
    name: .customLong("max-size"),
    help: "The maximum number of bytes to write; default: 100 times the bundle, at least 64 MiB.")
  var maxSize: ByteCount?

  @OptionGroup(title: "Encryption") var secrets: BundleSecretOptions
  @OptionGroup(title: "Display") var display: DisplayOptions

  struct Report: Encodable {
    let schema = "lifeboat.bundleExtraction"
    let version = 1
    let path: String
    let output: String
    let entryCount: Int
    let sizeBytes: UInt64
    let leftOut: [BundleExtraction.Skipped]
  }

  func run() throws {
    try EvidenceGuard.checkIsNoSideFile(output)
    let interruption = Interruption(lettingWorkEnd: true)
    let extraction = try secrets.reading(path) { bundle -> BundleExtraction in
      do throws(BundleError) {
        return try BundleExtraction(bundle, maxBytes: maxSize.map { UInt64($0.count) })
      } catch {
        guard error.code == .tooLarge else { throw error }
        throw Failure(
          65, error.code.rawValue, "\(path): \(error.message)",
          hint: "if you trust the sender of the bundle, allow more with --max-size BYTES")
      }
    }
    display.note(
      "unpacking \(Quantity.count(extraction.entryCount, "entry", "entries")), \(Quantity.bytes(extraction.totalBytes)), into \(output)"
    )
    let skipped = try extraction.write(
      to: output, isCancelled: { interruption.isRequested }, making: interruption.files.making)
    if display.json {
      try display.write(
        json: Report(
          path: path, output: output, entryCount: extraction.entryCount,
          sizeBytes: extraction.totalBytes, leftOut: skipped))
    } else {
      for entry in skipped {
        try display.write(
          "left out: \(VisibleText.visible(entry.name)): \(VisibleText.visible(entry.reason))\n")
      }
      if !display.quiet {
        let store = PathText.joined(output, "store")
        try display.write("unpacked into \(VisibleText.visible(output))\n")
        if extraction.manifest.contents == .store {
          try display.write("next: lifeboat inspect \(ShellText.path(store))\n")
        }
      }
    }
    if !skipped.isEmpty { try display.exitWithFindings() }
  }
}
