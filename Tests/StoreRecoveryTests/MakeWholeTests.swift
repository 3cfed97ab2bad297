import StoreFiles
import Foundation
import Testing

@testable import StoreRecovery

/// A file that gets the store's name only when it is complete.
@Suite struct MakeWholeTests {
  struct Stop: Error {}

  /// Each call of the file system fails in its turn: the name is there with all of the file or not at all, and the
  /// next run makes it and removes what was left.
  @Test func aNameComesWithAllOfTheFile() throws {
    var isComplete = false
    for step in 1...60 where !isComplete {
      let bench = try Workbench()
      let calls = Counter()
      let system = FileSystem.watched { call, path in
        if calls.next("\(call) \(path)") >= step { throw Stop() }
      }
      let made = Result {
        try bench.recovery(fileSystem: system).makeWhole { try Data("whole".utf8).write(to: $0) }
      }
      let bytes = bench.bytes("Done.sqlite")
      #expect(bytes == nil || bytes == Data("whole".utf8), "step \(step)")
      if bytes == nil {
        #expect(throws: (any Error).self) { try made.get() }
        try bench.recovery().makeWhole { try Data("whole".utf8).write(to: $0) }
        #expect(bench.bytes("Done.sqlite") == Data("whole".utf8), "step \(step)")
        #expect(bench.names(bench.incompatible) == [".lease"], "step \(step)")
      }
      if case .success = made { isComplete = true }
    }
    #expect(isComplete, "no run came to its end")
  }

  @Test func whatStandsThereStays() throws {
    let bench = try Workbench()
    try bench.write("another's", to: "Done.sqlite")
    let error = #expect(throws: StoreRecoveryError.self) {
      try bench.recovery().makeWhole { try Data("ours".utf8).write(to: $0) }
    }
    #expect(error?.code == .inUse)
    #expect(bench.bytes("Done.sqlite") == Data("another's".utf8))
    #expect(bench.names(bench.incompatible) == [".lease"])
  }
}
