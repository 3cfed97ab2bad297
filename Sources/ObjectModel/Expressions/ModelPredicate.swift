/// A predicate (`NSPredicate`) as a tree.
///
/// It is read from `predicateFormat` text (``init(parsing:)``) or from a keyed archive
/// (``init(archived:in:)``). What is not understood stays in the tree as ``opaque(className:)`` or
/// ``unparsed(_:)``. Both readers bound the depth by ``ModelExpression/maximumDepth``.
package indirect enum ModelPredicate: Sendable, Hashable {
  /// `left operator right`.
  case comparison(Comparison)
  /// All parts hold; `TRUEPREDICATE` when there are none.
  case and([ModelPredicate])
  /// One of the parts holds; `FALSEPREDICATE` when there are none.
  case or([ModelPredicate])
  /// The part does not hold.
  case not(ModelPredicate)
  /// `TRUEPREDICATE` or `FALSEPREDICATE`.
  case constant(Bool)
  /// An archived object of a class that is not read: the class name.
  case opaque(className: String)
  /// Text that could not be parsed, verbatim. It occurs only at the root of a tree.
  case unparsed(String)

  /// One comparison (`NSComparisonPredicate`).
  package struct Comparison: Sendable, Hashable {
    /// The left side.
    package var left: ModelExpression
    /// The operator.
    package var `operator`: Operator
    /// The right side.
    package var right: ModelExpression
    /// Whether all or any elements of a to-many key path must match.
    package var modifier: Modifier
    /// `[cdnl]` after an operator on text.
    package var options: Options

    /// Makes a comparison.
    package init(
      _ left: ModelExpression, _ operator: Operator, _ right: ModelExpression,
      modifier: Modifier = .direct, options: Options = []
    ) {
      self.left = left
      self.operator = `operator`
      self.right = right
      self.modifier = modifier
      self.options = options
    }
  }

  /// How two expressions are compared (`NSPredicateOperatorType`).
  package enum Operator: Sendable, Hashable {
    /// `<`
    case lessThan
    /// `<=`
    case lessThanOrEqual
    /// `>`
    case greaterThan
    /// `>=`
    case greaterThanOrEqual
    /// `==`
    case equal
    /// `!=`
    case notEqual
    /// `MATCHES`: a regular expression fits the whole text.
    case matches
    /// `LIKE`: `?` and `*` are wildcards.
    case like
    /// `BEGINSWITH`
    case beginsWith
    /// `ENDSWITH`
    case endsWith
    /// `IN`: the left side is in the right side.
    case `in`
    /// A method of the left side that takes the right side, such as `isNear:`.
    case selector(String)
    /// `CONTAINS`: the right side is in the left side.
    case contains
    /// `BETWEEN`: the right side is an aggregate of two bounds, both included.
    case between
  }

  /// `NSComparisonPredicateModifier`. `NONE` is a negated ``any``.
  package enum Modifier: Int64, Sendable, Hashable, CaseIterable {
    /// The values themselves.
    case direct = 0
    /// Every element of the left side.
    case all = 1
    /// At least one element of the left side; also written `SOME`.
    case any = 2
  }

  /// `NSComparisonPredicateOptions`.
  package struct Options: OptionSet, Sendable, Hashable {
    /// The bits as archived.
    package let rawValue: Int64

    /// Wraps bits, known or not.
    package init(rawValue: Int64) { self.rawValue = rawValue }

    /// `[c]`
    package static let caseInsensitive = Options(rawValue: 1)
    /// `[d]`
    package static let diacriticInsensitive = Options(rawValue: 2)
    /// `[n]`: the texts are compared as they are, byte by byte.
    package static let normalized = Options(rawValue: 4)
    /// `[l]`
    package static let localeSensitive = Options(rawValue: 8)
  }
}

extension ModelPredicate {
  /// Makes a comparison of values.
  package static func compare(
    _ left: ModelExpression, _ operator: Operator, _ right: ModelExpression,
    modifier: Modifier = .direct, options: Options = []
  ) -> ModelPredicate {
    .comparison(Comparison(left, `operator`, right, modifier: modifier, options: options))
  }

  /// Whether every part is understood: nothing opaque, nothing unparsed.
  package var isWhole: Bool {
    switch self {
    case .comparison(let comparison): comparison.left.isWhole && comparison.right.isWhole
    case .and(let parts), .or(let parts): parts.allSatisfy(\.isWhole)
    case .not(let part): part.isWhole
    case .constant: true
    case .opaque, .unparsed: false
    }
  }
}

extension ModelPredicate: CustomStringConvertible {
  /// ``text``.
  package var description: String { text }
}
