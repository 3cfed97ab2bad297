import ModelTools
import ObjectModel
import SQLiteWriter

// Lets SQLite read the statements of a plan before a row is copied.
extension CopyPlan {
  /// Checks that SQLite can compile all statements of the plan. The new tables must exist in the file of `writer`, or
  /// `definitions` must create them. What the definitions create, and the staged tables, which some statements name, is
  /// made for this check only and rolled back.
  ///
  /// - Throws: `migration.tooComplex`, with a reason for each mapping whose statements SQLite cannot compile. Any other
  ///   error of a statement is not reported here, but when the statement is first used.
  func checkStatements(
    _ mappings: [EntityMapping], in writer: SQLiteWriter, defining definitions: [String] = []
  ) throws {
    struct Checked: Error {}
    do {
      try writer.transaction { () throws -> Void in
        for definition in definitions { try writer.define(definition) }
        for stage in staged.values { try writer.execute(stage.creation) }
        try readStatements(mappings, in: writer)
        throw Checked()
      }
    } catch is Checked {}
  }

  private func readStatements(_ mappings: [EntityMapping], in writer: SQLiteWriter) throws {
    var reasons: Set<String> = []
    for copy in tables.flatMap(\.copies) {
      for statement in copy.statements {
        guard let problem = problem(of: statement, in: writer) else { continue }
        let deepest = mappings.first { $0.name == copy.mappingName }?.deepest
        let depth = deepest.map { ": \($0.part) has \($0.levels) levels" } ?? ""
        reasons.insert("mapping \(copy.mappingName) is too complex for SQLite (\(problem))\(depth)")
      }
    }
    for join in joins {
      guard let problem = problem(of: join.statement, in: writer) else { continue }
      reasons.insert(
        "the links of \(join.relationship.entity).\(join.relationship.name) are too complex for "
          + "SQLite (\(problem))")
    }
    guard reasons.isEmpty else { throw MigrationError(.tooComplex, reasons.sorted()) }
  }

  /// Returns SQLite's message if `statement` is too complex for SQLite, otherwise nil.
  private func problem(of statement: RowStatement, in writer: SQLiteWriter) -> String? {
    do throws(SQLiteWriterError) {
      try writer.prepare(statement.sql).finalize()
      return nil
    } catch {
      return error.isTooComplex ? error.message : nil
    }
  }
}

extension SQLiteWriterError {
  /// Whether SQLite cannot read a statement because its expressions are nested too deep, or because it is too long.
  /// Versions of SQLite limit the depth in different ways (https://sqlite.org/limits.html).
  fileprivate var isTooComplex: Bool {
    let limits = ["parser stack overflow", "Recursion limit", "Expression tree is too large"]
    return code == .tooBig
      || code == .sqlite && limits.contains { message.utf8.starts(with: $0.utf8) }
  }
}

extension EntityMapping {
  /// The expression or predicate with the deepest tree in this mapping, and the number of levels of this tree. Nil for
  /// a mapping without expressions and predicate.
  fileprivate var deepest: (part: String, levels: Int)? {
    var parts: [(part: String, levels: Int)] = []
    for property in attributeMappings + relationshipMappings {
      guard let expression = property.valueExpression else { continue }
      parts.append(("the expression of \(property.name)", expression.levels))
    }
    if case .some(let predicate) = selection { parts.append(("the predicate", predicate.levels)) }
    return parts.max { $0.levels < $1.levels }
  }
}

extension ModelExpression {
  /// The number of levels of the tree. Each key of a key path is a level.
  fileprivate var levels: Int {
    if case .keyPath(let path, of: _) = self { return max(1, KeyPath.keys(of: path).count) }
    let (expressions, predicates) = children
    return 1 + (expressions.map(\.levels) + predicates.map(\.levels)).reduce(0) { max($0, $1) }
  }
}

extension ModelPredicate {
  fileprivate var levels: Int {
    switch self {
    case .comparison(let comparison): 1 + max(comparison.left.levels, comparison.right.levels)
    case .and(let parts), .or(let parts): 1 + parts.map(\.levels).reduce(0) { max($0, $1) }
    case .not(let part): 1 + part.levels
    case .constant, .opaque, .unparsed: 1
    }
  }
}
