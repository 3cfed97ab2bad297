import ArgumentParser
import SupportBundle
import Terminal

/// `lifeboat bundle verify`
struct BundleVerify: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "verify",
    abstract: "Check that a bundle is whole and unchanged.",
    discussion: """
      Example: lifeboat bundle verify Notes-support.zip

      Exit status: 0 intact, 1 changed or damaged, 65 not a bundle, or refused as harmful, 66 missing.
      """)

  @Argument(help: "The bundle.", completion: .file())
  var path: String

  @OptionGroup(title: "Encryption") var secrets: SecretOptions
  @OptionGroup(title: "Display") var display: DisplayOptions

  /// The JSON form.
  struct Report: Encodable {
    struct Problem: Encodable {
      let id: String
      let message: String
      let entry: String?
      let offset: UInt64?

      init(_ problem: BundleVerification.Problem) {
        id = problem.id.rawValue
        message = problem.message
        entry = problem.entry
        offset = problem.offset
      }
    }

    let schema = "lifeboat.bundleVerification"
    let version = 1
    let path: String
    let outcome: String
    let intactEntryCount: Int
    let problems: [Problem]
  }

  func run() throws {
    let result = try BundleVerification.verify(try secrets.open(path))
    let outcome =
      switch result.outcome {
      case .intact: "intact"
      case .damaged: "damaged"
      case .notABundle: "notABundle"
      }
    if display.json {
      try display.write(
        json: Report(
          path: path, outcome: outcome, intactEntryCount: result.intactEntryCount,
          problems: result.problems.map(Report.Problem.init)))
    }
    switch result.outcome {
    case .intact:
      if !display.json, !display.quiet {
        try display.write(
          "intact: \(Quantity.count(result.intactEntryCount)) entries agree with the manifest\n")
      }
    case .damaged:
      if !display.json {
        try display.write(BundleText.lines(result.problems))
        try display.write("NOT INTACT: ask for the bundle again\n")
      }
      if let refused = result.problems.first(where: { $0.isRefusal }) {
        throw Failure(
          65, refused.id.rawValue,
          "\(path): refused: \(refused.message)\(refused.entry.map { ", entry \($0)" } ?? "")",
          hint: "do not unpack this archive with other tools: it may have been made to do harm")
      }
      try display.exitWithFindings()
    case .notABundle:
      let problem = result.problems.first
      throw Failure(
        65, problem?.id.rawValue ?? "bundle.notAZip",
        "\(path): not a support bundle: \(problem?.message ?? "")",
        hint: "a bundle is made with: lifeboat bundle create STORE -o FILE")
    }
  }
}
