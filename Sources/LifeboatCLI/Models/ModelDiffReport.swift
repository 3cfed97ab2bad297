import ModelTools
import ObjectModel

/// The JSON output of `lifeboat model diff`.
struct ModelDiffReport: Encodable {
  struct Migration: Encodable {
    let verdict: String
    let reason: String?

    init(_ verdict: LightweightVerdict) {
      self.verdict = verdict.name
      reason = verdict.reason
    }
  }

  struct Change: Encodable {
    let kind: String
    let entity: String?
    let name: String?
    let property: String?
    let field: String?
    let old: String?
    let new: String?
    let affectsVersionHash: Bool
    let migration: Migration
    let sentence: String
    let remark: String?

    init(_ change: ModelChange) {
      kind = change.kind.rawValue
      entity = change.entityName
      name = change.name
      property = change.propertyName
      field = change.field
      old = change.oldValue
      new = change.newValue
      affectsVersionHash = change.affectsVersionHash
      migration = Migration(change.verdict)
      sentence = change.sentence
      remark = change.remark
    }
  }

  struct Effect: Encodable {
    let entity: String
    let oldName: String?
    let doubt: String?
    let sentence: String
  }

  struct Guess: Encodable {
    let kind: String
    let entity: String?
    let old: String
    let new: String
    let sentence: String
  }

  let schema = "lifeboat.modelDifference"
  let version = 1
  let old: String
  let new: String
  let migration: Migration
  let changes: [Change]
  let versionHashes: [Effect]
  let guesses: [Guess]

  init(old: String, new: String, difference: ModelDifference) {
    self.old = old
    self.new = new
    migration = Migration(difference.verdict)
    changes = difference.changes.map(Change.init)
    versionHashes = difference.hashEffects.map {
      Effect(
        entity: $0.entityName, oldName: $0.oldName, doubt: $0.doubt, sentence: $0.sentence)
    }
    guesses = difference.guesses.map {
      Guess(
        kind: $0.part.rawValue, entity: $0.entityName, old: $0.oldName, new: $0.newName,
        sentence: $0.sentence)
    }
  }
}
