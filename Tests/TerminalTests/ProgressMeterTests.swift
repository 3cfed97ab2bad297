import Foundation
import Testing

@testable import Terminal

/// A clock that stands still until it is told, and the texts that were printed.
private final class Stage: @unchecked Sendable {
  private let lock = NSLock()
  private var now: UInt64 = 5_000_000_000
  private var printed: [String] = []
  var isOpen = true

  func advance(_ seconds: Double) {
    lock.withLock { now += UInt64(seconds * 1e9) }
  }

  var texts: [String] { lock.withLock { printed } }

  func progress(
    total: UInt64?, mode: ProgressMode, terminal: Bool = false, columns: Int = 80,
    unit: ProgressUnit = .bytes, operation: String = "Reading"
  ) -> ProgressMeter {
    ProgressMeter(
      operation: operation, total: total, unit: unit, mode: mode, canMoveCursor: terminal,
      columns: columns, clock: { self.lock.withLock { self.now } },
      print: { text in
        self.lock.withLock { self.printed.append(text) }
        return self.isOpen
      })
  }
}

@Suite struct ProgressMeterTests {
  @Test(arguments: [ProgressMode.auto, .plain, .none], [true, false])
  func shortWorkPrintsNothing(_ mode: ProgressMode, _ terminal: Bool) {
    let stage = Stage()
    let progress = stage.progress(total: 100, mode: mode, terminal: terminal)
    for step in UInt64(1)...99 {
      stage.advance(0.01)
      progress.update(step)
    }
    progress.finish()
    #expect(stage.texts.isEmpty)
  }

  @Test func barOnATerminal() {
    let stage = Stage()
    let progress = stage.progress(total: 48_200_000, mode: .auto, terminal: true)
    stage.advance(1)
    progress.update(12_050_000)
    #expect(stage.texts.count == 1)
    let line = stage.texts[0].dropFirst().dropLast(3)
    #expect(DisplayWidth.columns(of: line) <= 79)
    #expect(line.hasPrefix("Reading  [="))
    #expect(line.hasSuffix("]   25%  12.1 MB of 48.2 MB  12.1 MB/s  0:03 left"))
    stage.advance(0.05)
    progress.update(13_000_000)
    #expect(stage.texts.count == 1)
    stage.advance(0.05)
    progress.update(14_000_000)
    #expect(stage.texts.count == 2)
    progress.finish()
    #expect(stage.texts.last == "\r\u{1B}[K")
    progress.update(1)
    progress.finish()
    #expect(stage.texts.count == 3)
  }

  @Test(arguments: [40, 60, 80, 400])
  func barFitsTheTerminal(_ columns: Int) {
    let stage = Stage()
    let progress = stage.progress(
      total: UInt64.max, mode: .auto, terminal: true, columns: columns,
      operation: "Carving 日本語\u{1B}")
    for step in UInt64(1)...50 {
      stage.advance(1)
      progress.update(step * 1_000_000_000_000)
    }
    progress.update(UInt64.max)
    progress.update(3, of: 2)
    #expect(stage.texts.count >= 50)
    for text in stage.texts {
      #expect(DisplayWidth.columns(of: text.dropFirst().dropLast(3)) < columns)
    }
  }

  @Test func plainLinesEveryFewSeconds() {
    let stage = Stage()
    let progress = stage.progress(total: 10_000_000, mode: .auto)
    for step in UInt64(1)...8 {
      stage.advance(1)
      progress.update(step * 1_000_000)
    }
    progress.finish()
    #expect(
      stage.texts == [
        "Reading: 3.0 MB of 10.0 MB (30%), 1.0 MB/s, 0:07 left\n",
        "Reading: 6.0 MB of 10.0 MB (60%), 1.0 MB/s, 0:04 left\n",
        "Reading: 8.0 MB in 0:08\n",
      ])
  }

  @Test func unknownTotalAndOtherUnits() {
    let stage = Stage()
    let progress = stage.progress(total: nil, mode: .plain, unit: .rows, operation: "Carving")
    stage.advance(3)
    progress.update(3000)
    stage.advance(3)
    progress.update(84_210, of: 100_000)
    #expect(
      stage.texts == [
        "Carving: 3,000 rows, 1,000 rows/s\n",
        "Carving: 84,210 of 100,000 rows (84%), 14,035 rows/s, 0:02 left\n",
      ])
  }

  @Test func jsonObjectsAreOnePerTickAndEndWithFinished() throws {
    let stage = Stage()
    let progress = stage.progress(
      total: nil, mode: .json, terminal: true, operation: "Read \"\u{202E}\\\n")
    progress.update(0)
    stage.advance(0.4)
    progress.update(10)
    stage.advance(0.1)
    progress.update(20, of: 30)
    progress.finish()
    let objects = try stage.texts.map { text in
      #expect(text.hasSuffix("}\n"))
      return try #require(
        JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
    }
    #expect(objects.map { $0["type"] as? String } == ["progress", "progress", "finished"])
    #expect(objects.map { $0["current"] as? Int } == [0, 20, 20])
    #expect(objects[0]["total"] is NSNull)
    #expect(objects[1]["total"] as? Int == 30)
    #expect(objects[2]["unit"] as? String == "bytes")
    #expect(objects[2]["operation"] as? String == "Read \"\\u{202E}\\\\n")
  }

  @Test func failedWorkIsNotReportedAsFinished() {
    let stage = Stage()
    do {
      let progress = stage.progress(total: 10, mode: .json)
      progress.update(1)
    }
    #expect(stage.texts.count == 1)
  }

  @Test func refusedOutputIsNotTriedAgain() {
    let stage = Stage()
    stage.isOpen = false
    let progress = stage.progress(total: 10, mode: .json)
    progress.update(1)
    stage.advance(1)
    progress.update(2)
    #expect(stage.texts.count == 1)
  }

  @Test func manyTasksAtOnce() async {
    let stage = Stage()
    let progress = stage.progress(total: 1000, mode: .json)
    await withTaskGroup(of: Void.self) { group in
      for index in UInt64(0)..<100 {
        group.addTask {
          stage.advance(0.1)
          progress.update(index)
        }
      }
    }
    progress.finish()
    #expect(stage.texts.allSatisfy { $0.hasPrefix("{\"type\":\"") && $0.hasSuffix("}\n") })
  }
}
