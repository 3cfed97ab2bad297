import Dispatch
import Fixtures
import Foundation
import Testing

@testable import RowText
@testable import SQLiteFile

/// Blocks that several threads make come out in the order of blocks, whoever is done first.
@Suite struct OrderedOutputTests {
  /// One thread's own things.
  private final class Worker: @unchecked Sendable {
    let turn: OutputTurn
    var output: OutputBuffer
    init(_ turns: OrderedOutput, _ output: borrowing OutputBuffer) {
      turn = OutputTurn(turns)
      self.output = output.another(capacity: 64, turn: turn)
    }
  }

  private final class Settled: @unchecked Sendable {
    var blocks: [Int64] = []
    var failure: SQLiteFileError?
  }

  /// What is written, and of which blocks the findings came, where block `bad` fails; `threads` make them.
  private func run(_ seed: Int, blocks: Int, bad: Int?, threads: Int) throws -> (String, Settled) {
    let settled = Settled()
    let bytes = try bytesWritten {
      try write(to: $0, settled, seed, blocks: blocks, bad: bad, threads: threads)
    }
    return (String(decoding: bytes, as: UTF8.self), settled)
  }

  private func write(
    to descriptor: Int32, _ settled: Settled, _ seed: Int, blocks: Int, bad: Int?, threads: Int
  ) throws {
    let output = OutputBuffer(descriptor: descriptor)
    let spares = (0..<2).map { _ in BlockOutput(output: output.another(capacity: 64, turn: nil)) }
    let turns = OrderedOutput(blockCount: blocks, spares: spares)
    let workers = (0..<threads).map { _ in Worker(turns, output) }
    DispatchQueue.concurrentPerform(iterations: threads) { index in
      let worker = workers[index]
      var random = SplitMix64(seed: UInt64(seed * 16 + index))
      while let block = worker.turn.take() {
        // Some are long in the making, and some do not fit the buffer.
        if Int.random(in: 0..<4, using: &random) == 0 { usleep(300) }
        worker.output.append(text(of: block))
        var findings = FindingList()
        findings.add(Finding(.init(rawValue: "test.block"), "a block", offset: Int64(block)))
        let failure = block == bad ? SQLiteFileError(.io, "a bad block") : nil
        worker.turn.end(&worker.output, findings, failure) { findings, failure in
          settled.blocks += findings.kept.compactMap(\.offset)
          settled.failure = failure
        }
      }
    }
    for worker in workers { try worker.output.finish() }
  }

  private func text(of block: Int) -> String {
    String(repeating: "\(block),", count: block % 7 == 0 ? 60 : block % 5)
  }

  @Test(arguments: 1...20) func blocksComeOutInOrder(_ seed: Int) throws {
    let (written, settled) = try run(seed, blocks: 150, bad: nil, threads: 2 + seed % 3)
    #expect(written == (0..<150).map(text).joined())
    #expect(settled.blocks == (0..<150).map(Int64.init))
    #expect(settled.failure == nil)
  }

  @Test(arguments: 1...20) func nothingComesBehindAFailure(_ seed: Int) throws {
    let bad = seed * 6
    let (written, settled) = try run(seed, blocks: 150, bad: bad, threads: 2 + seed % 3)
    #expect(written == (0...bad).map(text).joined())
    #expect(settled.blocks == (0...bad).map(Int64.init))
    #expect(settled.failure?.code == .io)
  }
}
