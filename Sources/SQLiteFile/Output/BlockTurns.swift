import Dispatch

/// What a thread has made of a block of work.
package final class BlockOutput: @unchecked Sendable {
  package var output: OutputBuffer
  package var findings = FindingList()
  package var failure: SQLiteFileError?

  /// `output`: takes the bytes of blocks, and writes them when it is told to.
  package init(output: consuming OutputBuffer) { self.output = output }
}

/// Hands out blocks of work to several threads, and has what they made of each written in the order of blocks.
///
/// Who is done before its turn leaves the block with the others and goes on; whoever has the turn writes what is left
/// behind its own. Blocks are taken in their order, so whoever has the turn is at work, and nobody waits for a thread
/// that has not begun.
package final class BlockTurns: @unchecked Sendable {
  private let gate = DispatchQueue(label: "blocks")
  private let blockCount: Int
  /// The next block to be taken, and the one whose turn it is.
  private var next = 0
  private var current = 0
  private var hasStopped = false
  private var spares: [BlockOutput]
  private var left: [Int: BlockOutput] = [:]
  private var sleepers: [Int: DispatchSemaphore] = [:]

  /// `spares`: as many blocks as can be left before their turn.
  package init(blockCount: Int, spares: [BlockOutput]) {
    self.blockCount = blockCount
    self.spares = spares
  }

  /// The next block; nil when there is none, or no further one is wanted. Who has taken one must leave it or pass on
  /// its turn.
  fileprivate func take() -> Int? {
    gate.sync {
      guard next < blockCount, !hasStopped else { return nil }
      next += 1
      return next - 1
    }
  }

  /// Waits until all blocks before this one have passed.
  fileprivate func wait(for block: Int) {
    let semaphore: DispatchSemaphore? = gate.sync {
      if block == current { return nil }
      let semaphore = DispatchSemaphore(value: 0)
      sleepers[block] = semaphore
      return semaphore
    }
    semaphore?.wait()
  }

  /// Room for what was made of a block whose turn has not come; nil when it has, or there is no room left.
  fileprivate func spare(for block: Int) -> BlockOutput? {
    gate.sync { block == current ? nil : spares.popLast() }
  }

  /// Leaves a block to whoever has the turn; false when that is this block's by now.
  fileprivate func leave(_ made: BlockOutput, _ block: Int) -> Bool {
    gate.sync {
      guard block != current else { return false }
      left[block] = made
      return true
    }
  }

  /// Gives the turn to the block behind this one; what was left of that one is then to be written.
  fileprivate func pass(_ block: Int, _ written: BlockOutput?) -> BlockOutput? {
    gate.sync {
      if let written { spares.append(written) }
      current = block + 1
      sleepers.removeValue(forKey: current)?.signal()
      return left.removeValue(forKey: current)
    }
  }

  /// Ends the work: what follows the block that has the turn is not wanted.
  fileprivate func stop() { gate.sync { hasStopped = true } }

  /// Whether somebody has stopped.
  fileprivate var isStopped: Bool { gate.sync { hasStopped } }
}

/// One thread's place among the blocks. Only that thread touches it.
package final class BlockTurn: @unchecked Sendable {
  private let turns: BlockTurns
  private var block = 0
  private var hasCome = false

  package init(_ turns: BlockTurns) { self.turns = turns }

  /// Takes the next block; nil when there is none, or no further one is wanted. It must be ended.
  package func take() -> Int? {
    guard let next = turns.take() else { return nil }
    block = next
    hasCome = false
    return next
  }

  /// Waits until the turn is this block's; false when what it has to say is not wanted any more.
  package func come() -> Bool {
    if !hasCome { turns.wait(for: block) }
    hasCome = true
    return !turns.isStopped
  }

  /// Ends the block. What was made of it is written when its turn comes, by whoever has the turn then.
  ///
  /// A failure, of the block or of the output, ends the work of all: nothing is written behind it.
  /// - Parameters:
  ///   - output: what is written of it, empty afterwards.
  ///   - findings: what was found in it.
  ///   - failure: what ended it early.
  ///   - settle: is handed the findings and failures of blocks that have been written, in their order; by one thread at a
  ///     time.
  package func end(
    _ output: inout OutputBuffer, _ findings: FindingList, _ failure: SQLiteFileError?,
    settle: (FindingList, SQLiteFileError?) -> Void
  ) {
    var next: BlockOutput?
    if !hasCome, let spare = turns.spare(for: block) {
      output.exchange(with: &spare.output)
      spare.findings = findings
      spare.failure = failure
      if turns.leave(spare, block) { return }
      next = spare
    } else {
      if come() { write(&output, findings, failure, settle) }
      next = pass(nil)
    }
    while let made = next {
      if turns.isStopped {
        made.output.removeAll()
      } else {
        write(&made.output, made.findings, made.failure, settle)
      }
      // A buffer whose output has failed is used no more, so that its failure is told in the end.
      next = pass(made.output.isBroken ? nil : made)
    }
  }

  /// Writes a block whose turn it is.
  private func write(
    _ output: inout OutputBuffer, _ findings: FindingList, _ failure: SQLiteFileError?,
    _ settle: (FindingList, SQLiteFileError?) -> Void
  ) {
    output.flush()
    settle(findings, failure)
    if failure != nil || output.isBroken { turns.stop() }
  }

  /// Gives the turn to the next block; what was left of that one is to be written, and its turn passed on as well.
  private func pass(_ written: BlockOutput?) -> BlockOutput? {
    defer { block += 1 }
    return turns.pass(block, written)
  }
}
