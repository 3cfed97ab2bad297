import Dispatch
package import SQLiteFile

/// The result of one block of work: its output, its findings and, if it ended early, its failure.
package final class BlockOutput: @unchecked Sendable {
  package var output: OutputBuffer
  package var findings = FindingList()
  package var failure: SQLiteFileError?

  /// Makes a block without output. `output` is the empty buffer that gathers the bytes of the block.
  package init(output: consuming OutputBuffer) { self.output = output }
}

/// Distributes blocks of work to several threads, whose output is written in the order of the blocks.
///
/// Only the output of the current block may be written. A thread that finishes a later block stores the output of that
/// block here, and takes another block. The thread that has written the current block makes the next block current. If
/// the output of the next block is stored here, the same thread writes it too. Blocks are taken in order, so no thread
/// waits for a block that has not been started.
package final class OrderedOutput: @unchecked Sendable {
  private let gate = DispatchQueue(label: "blocks")
  private let blockCount: Int
  /// The number of the block that a thread takes next. The block whose output may be written has the number `current`.
  private var next = 0
  private var current = 0
  private var hasStopped = false
  private var spares: [BlockOutput]
  private var left: [Int: BlockOutput] = [:]
  private var sleepers: [Int: DispatchSemaphore] = [:]

  /// Creates the distribution of `blockCount` blocks. `spares`: buffers for the output of blocks that are finished
  /// before their turn, one block in each buffer.
  package init(blockCount: Int, spares: [BlockOutput]) {
    self.blockCount = blockCount
    self.spares = spares
  }

  /// Takes the next block and returns its number, from 0; nil when no block is left, or the work was stopped. The
  /// thread that takes a block must later call `leave` or `pass` with the number of the block.
  fileprivate func take() -> Int? {
    gate.sync {
      guard next < blockCount, !hasStopped else { return nil }
      next += 1
      return next - 1
    }
  }

  /// Waits until the output of `block` may be written.
  fileprivate func wait(for block: Int) {
    let semaphore: DispatchSemaphore? = gate.sync {
      if block == current { return nil }
      let semaphore = DispatchSemaphore(value: 0)
      sleepers[block] = semaphore
      return semaphore
    }
    semaphore?.wait()
  }

  /// Takes a spare buffer for the output of `block`. Returns nil when `block` is the current block, whose output needs
  /// no spare buffer, or when no buffer is free.
  fileprivate func spare(for block: Int) -> BlockOutput? {
    gate.sync { block == current ? nil : spares.popLast() }
  }

  /// Stores the output of `block` until it is the current block. Returns false and stores nothing if it already is; the
  /// caller must then write the output.
  fileprivate func leave(_ made: BlockOutput, _ block: Int) -> Bool {
    gate.sync {
      guard block != current else { return false }
      left[block] = made
      return true
    }
  }

  /// Ends `block`, so that the next block becomes the current one. Returns the output of the next block if it is stored
  /// here already. The caller must write this output.
  ///
  /// `written`: a buffer whose output was written, and that can be used again; nil if no buffer becomes free.
  fileprivate func pass(_ block: Int, _ written: BlockOutput?) -> BlockOutput? {
    gate.sync {
      if let written { spares.append(written) }
      current = block + 1
      sleepers.removeValue(forKey: current)?.signal()
      return left.removeValue(forKey: current)
    }
  }

  /// Stops the work: no thread takes a further block, and after the current block no output is written.
  fileprivate func stop() { gate.sync { hasStopped = true } }

  fileprivate var isStopped: Bool { gate.sync { hasStopped } }
}

/// Lets one thread take blocks and write their output in the order of the blocks. Each thread has its own `OutputTurn`.
package final class OutputTurn: @unchecked Sendable {
  private let turns: OrderedOutput
  private var block = 0
  private var hasCome = false

  package init(_ turns: OrderedOutput) { self.turns = turns }

  /// Takes the next block of work and returns its number, from 0; nil when no block is left, or the work was stopped.
  /// After taking a block, the caller must call ``end(_:_:_:settle:)``.
  package func take() -> Int? {
    guard let next = turns.take() else { return nil }
    block = next
    hasCome = false
    return next
  }

  /// Waits until the output of this thread's block may be written. Returns false if the work was stopped; then nothing
  /// may be written.
  package func come() -> Bool {
    if !hasCome { turns.wait(for: block) }
    hasCome = true
    return !turns.isStopped
  }

  /// Ends the block that this thread took last, and has its output written in block order. If the previous blocks have
  /// not been written yet, the output is stored in a spare buffer, and another thread writes it later. If no spare
  /// buffer is free, this thread waits for its turn and writes the output itself.
  ///
  /// A failure of the block or of the output stops all work: nothing is written after the failed block.
  /// - Parameters:
  ///   - output: the block's output, empty afterwards.
  ///   - findings: what was found in the block.
  ///   - failure: what ended the block early.
  ///   - settle: receives the findings and failure of each written block, in block order, on one thread at a time.
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
      // A buffer whose output failed is not used again, so that `finish` reports the failure.
      next = pass(made.output.isBroken ? nil : made)
    }
  }

  /// Writes the output of the current block, and calls `settle` with the block's findings and failure. If there is a
  /// failure, stops all work.
  private func write(
    _ output: inout OutputBuffer, _ findings: FindingList, _ failure: SQLiteFileError?,
    _ settle: (FindingList, SQLiteFileError?) -> Void
  ) {
    output.flush()
    settle(findings, failure)
    if failure != nil || output.isBroken { turns.stop() }
  }

  /// Makes the next block current. Returns the output of this block if another thread has stored it. The caller must
  /// write this output, and then call this function again.
  private func pass(_ written: BlockOutput?) -> BlockOutput? {
    defer { block += 1 }
    return turns.pass(block, written)
  }
}
