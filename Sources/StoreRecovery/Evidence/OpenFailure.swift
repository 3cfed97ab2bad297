import Foundation

enum OpenFailure {
  static let cocoaDomain = "NSCocoaErrorDomain"
  static let posixDomain = "NSPOSIXErrorDomain"
  /// The user-info key under which Core Data gives SQLite's extended code; also the domain of errors with such a code.
  static let sqliteDomain = "NSSQLiteErrorDomain"

  /// The maximum number of errors read from a chain of underlying errors, because an error may contain itself.
  static let linkLimit = 64

  static func facts(
    of error: any Error, sqliteCode: (@Sendable (any Error) -> Int32?)?,
    meaning: (@Sendable (any Error) -> FailureMeaning?)? = nil
  ) -> StoreEvidence.Failure {
    var failure = StoreEvidence.Failure()
    var codes: [Int32] = []
    var queue: [any Error] = [error]
    var next = 0
    while next < queue.count, next < linkLimit {
      let current = queue[next]
      next += 1
      let bridged = current as NSError
      failure.chain.append(.init(domain: bridged.domain, code: bridged.code))
      if let code = sqliteCode?(current) { codes.append(code) }
      if failure.meaning == nil { failure.meaning = meaning?(current) }
      if bridged.domain == sqliteDomain, let code = Int32(exactly: bridged.code) {
        codes.append(code)
      }
      if let code = integer(bridged.userInfo[sqliteDomain]) { codes.append(code) }
      if bridged.domain == cocoaDomain, failure.cocoaCode == nil {
        failure.cocoaCode = bridged.code
      }
      if bridged.domain == posixDomain, failure.posixCode == nil {
        failure.posixCode = Int32(exactly: bridged.code)
      }
      queue += inner(of: bridged)
    }
    failure.sqliteCode = decisive(codes)
    // SQLite's code 1 is ambiguous, so damage is considered only if the error's text blames the schema.
    if failure.sqliteCode == 1 {
      failure.blamesSchema = queue[..<next].contains(where: blamesSchema)
    }
    return failure
  }

  /// Whether the text of an error blames the schema. Called only for SQLite's code 1, because the text of a Core Data
  /// error may contain a model.
  private static func blamesSchema(_ error: any Error) -> Bool {
    [(error as NSError).localizedDescription, String(describing: error)].contains {
      $0.contains("unsupported file format") || $0.contains("malformed database schema")
    }
  }

  /// Returns the code that decides the verdict: the first code that can never lead to a quarantine or, if there is no
  /// such code, the first code with a rule. Nil if no code has a rule.
  private static func decisive(_ codes: [Int32]) -> Int32? {
    let known = codes.compactMap { code in SQLiteRules.rule(for: code).map { (code, $0) } }
    return (known.first { $0.1.isFinal } ?? known.first)?.0
  }

  private static func inner(of error: NSError) -> [any Error] {
    var found: [any Error] = []
    if let one = error.userInfo[NSUnderlyingErrorKey] as? any Error { found.append(one) }
    for key in ["NSDetailedErrors", "NSMultipleUnderlyingErrorsKey"] {
      if let several = error.userInfo[key] as? [any Error] { found += several.prefix(linkLimit) }
    }
    return found
  }

  private static func integer(_ value: Any?) -> Int32? {
    if let number = value as? any BinaryInteger { return Int32(exactly: number) }
    if let number = value as? NSNumber { return Int32(exactly: number.int64Value) }
    return nil
  }
}
