import Fixtures
import StoreTriage
import Testing

@testable import LifeboatCLI

/// Inputs that are finished in any order are told in that of the list, and not too many are held.
@Suite struct TriageOrderTests {
  /// What an input turns out to be, by its name: `f3` is a folder of three, `e` an empty one, `m` one with a line that is
  /// finished from the start, `a` an archive with two lines, `n` nothing.
  private static func result(_ path: [UInt8]) -> TriageOrder.Result {
    let name = String(decoding: path, as: UTF8.self)
    // What is in a folder is no folder.
    if path.contains(UInt8(ascii: "/")) { return .line(path, identity: nil) }
    if name.hasPrefix("f"), let count = Int(name.dropFirst().prefix { $0 != "-" }) {
      return .inputs((0..<count).map { .path("\(name)/\($0)") })
    }
    if name.hasPrefix("e") { return .inputs([]) }
    if name.hasPrefix("m") {
      let line = TriageLine(path: "\(name)/b", failed: .init(code: "x", message: "y"))
      return .inputs([.path("\(name)/a"), .line(line), .path("\(name)/c")])
    }
    if name.hasPrefix("a") { return .lines([path, path]) }
    return name.hasPrefix("n") ? .nothing : .line(path, identity: nil)
  }

  /// The names that must be told, in order.
  private static func told(_ names: [String]) -> [String] {
    names.flatMap { name -> [String] in
      switch result(Array(name.utf8)) {
      case .line: [name]
      case .lines(let lines): lines.map { String(decoding: $0, as: UTF8.self) }
      case .nothing: ["-"]
      case .inputs(let items):
        ["+"] + items.map { if case .path(let path) = $0 { path } else { "line" } }
      }
    }
  }

  @Test(arguments: 0..<60) func anyOrderOfEnding(_ seed: Int) {
    var generator = SplitMix64(seed: UInt64(seed))
    let names = (0..<200).map { index -> String in
      switch Int.random(in: 0..<20, using: &generator) {
      case 0: "f\(Int.random(in: 1...40, using: &generator))-\(index)"
      case 1: "e\(index)"
      case 2: "m\(index)"
      case 3: "n\(index)"
      case 4: "a\(index)"
      default: "p\(index)"
      }
    }
    let window = Int.random(in: 1...12, using: &generator)
    let workers = Int.random(in: 1...5, using: &generator)
    var order = TriageOrder(window: window)
    var left = names[...]
    var busy: [TriageOrder.Job] = []
    var told: [String] = []
    var most = 0
    var held = 0
    var rounds = 0
    while !(left.isEmpty && order.isEmpty) {
      rounds += 1
      guard rounds < 100_000 else {
        Issue.record("nothing is told any more: \(told.count) of \(Self.told(names).count)")
        return
      }
      while order.hasRoom, let name = left.popFirst() { order.add(Array(name.utf8)) }
      while busy.count < workers, let job = order.next() {
        busy.append(job)
        held += 1
      }
      most = max(most, held)
      // Sometimes nothing ends, sometimes the last that began.
      if !busy.isEmpty, Bool.random(using: &generator) || !order.hasRoom {
        let job = busy.remove(at: Int.random(in: 0..<busy.count, using: &generator))
        order.finish(job, Self.result(job.path))
      }
      while let record = order.tell() {
        held -= 1
        switch record.result {
        case .line:
          told.append(
            record.job.path.isEmpty ? "line" : String(decoding: record.job.path, as: UTF8.self))
        case .lines(let lines): told += lines.map { String(decoding: $0, as: UTF8.self) }
        case .nothing: told.append("-")
        case .inputs: told.append("+")
        }
      }
    }
    #expect(told == Self.told(names), "seed \(seed)")
    // A line that is finished from the start is not handed out, so what is held may only be less.
    #expect(most <= 2 * window + workers)
  }
}
