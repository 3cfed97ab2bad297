/// An `NSPredicate` as a tree.
///
/// A tree is read from `predicateFormat` text (``init(parsing:)``) or from a keyed archive (``init(archived:in:)``). A
/// part that is not understood stays in the tree as ``opaque(className:)`` or ``unparsed(_:)``. Both readers limit the
/// depth to ``ModelExpression/maximumDepth``.
package indirect enum ModelPredicate: Sendable, Hashable {
  /// A comparison of two expressions: `left operator right`.
  case comparison(Comparison)
  /// True if all parts are true. Without parts it is `TRUEPREDICATE`.
  case and([ModelPredicate])
  /// True if at least one part is true. Without parts it is `FALSEPREDICATE`.
  case or([ModelPredicate])
  /// True if the part is false.
  case not(ModelPredicate)
  /// `TRUEPREDICATE` or `FALSEPREDICATE`.
  case constant(Bool)
  /// An archived object that is not understood or exceeds a limit. The value is its class name.
  case opaque(className: String)
  /// Text that could not be parsed, verbatim. It occurs only at the root of a tree.
  case unparsed(String)

  /// A comparison of two expressions (`NSComparisonPredicate`).
  package struct Comparison: Sendable, Hashable {
    /// The expression before the operator.
    package var left: ModelExpression
    /// How the two sides are compared.
    package var `operator`: Operator
    /// The expression after the operator.
    package var right: ModelExpression
    /// Whether all or any elements of a to-many key path must match.
    package var modifier: Modifier
    /// How text is compared, written after the operator: `[cd]`.
    package var options: Options

    /// Makes a comparison. By default the sides are compared as they are, without text options.
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

  /// Which elements of a to-many key path must match (`NSComparisonPredicateModifier`). `NONE` is a negated ``any``.
  package enum Modifier: Int64, Sendable, Hashable, CaseIterable {
    /// The two sides are compared as they are.
    case direct = 0
    /// `ALL`: every element of the left side must match.
    case all = 1
    /// `ANY` or `SOME`: at least one element of the left side must match.
    case any = 2
  }

  /// How text is compared (`NSComparisonPredicateOptions`).
  package struct Options: OptionSet, Sendable, Hashable {
    /// The bits as an archive has them.
    package let rawValue: Int64

    /// Makes options from bits. Unknown bits are kept.
    package init(rawValue: Int64) { self.rawValue = rawValue }

    /// `[c]`: upper and lower case are equal.
    package static let caseInsensitive = Options(rawValue: 1)
    /// `[d]`: accents and other diacritics are ignored.
    package static let diacriticInsensitive = Options(rawValue: 2)
    /// `[n]`: texts are compared byte by byte, without normalisation.
    package static let normalized = Options(rawValue: 4)
    /// `[l]`: texts are compared by the rules of the current locale.
    package static let localeSensitive = Options(rawValue: 8)
  }
}

extension ModelPredicate {
  /// Makes a predicate that is a single comparison.
  package static func compare(
    _ left: ModelExpression, _ operator: Operator, _ right: ModelExpression,
    modifier: Modifier = .direct, options: Options = []
  ) -> ModelPredicate {
    .comparison(Comparison(left, `operator`, right, modifier: modifier, options: options))
  }

  /// Whether the whole tree is understood: no part is opaque or unparsed.
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
  /// The same as ``text``.
  package var description: String { text }
}
