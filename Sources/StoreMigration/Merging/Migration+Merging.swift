import CoreDataForensics
import CoreDataStore
import ModelTools
import ObjectModel
import SQLiteWriter
import StoreExtraction

extension Migration {
  /// The present store of a merge, which the app uses now, and the compiled step that copies its rows into the new
  /// file.
  struct MergeTarget {
    let present: PresentStore
    let work: Work

    init(_ present: PresentStore, _ last: MigrationStep?) throws {
      self.present = present
      guard let last else { throw MigrationError(.noWay, ["the migration has no steps"]) }
      try present.check(last.to)
      work = try Work(
        .same(last.to, named: last.toName), present.source, .refuse, PolicyRegister(),
        namedAfter: nil)
    }
  }

  /// Makes a new file with the rows of the present store, and merges the rows of the finished file `other` into this
  /// new file. Returns the new file. Discards `other`.
  func merge(
    _ other: SQLiteWriter, into target: MergeTarget, to output: String, _ rejects: RejectedRows,
    _ own: ExternalFiles, _ external: ExternalFiles, _ watch: ProgressWatch,
    _ report: inout MigrationReport
  ) throws -> SQLiteWriter {
    let (present, work) = (target.present, target.work)
    let identity = try StoreIdentity(present.source)
    let writer = try newFile(for: output)
    do {
      rejects.store = "present"
      var merged: MigrationReport.Merge?
      var step = try writer.attaching(other, as: StoreMerge.schema) {
        try run(
          work, present.source, identity, into: writer, rejects, own, watch,
          storePath: present.path, isFirst: true
        ) { copy in
          var merge = StoreMerge(
            work.schema.layout, present.policy, writer, rejects,
            highestKeys: try identity.highestKeys(work.schema, work.plan, in: writer),
            into: present.path, files: own, external)
          rejects.store = "old"
          try merge.run(copy)
          merged = merge.report
        }
      }
      // All rows are written, so triggers can be made.
      let notes = try DerivedTriggers(present.source, work.sourceLayout.model)
        .make(in: writer, work.schema)
      step.notes = (step.notes + notes).sorted()
      merged?.present = step
      report.merge = merged
      try finish(writer, isKept: true)
      try watch.endStep()
    } catch {
      writer.discard()
      throw error
    }
    other.discard()
    return writer
  }
}
