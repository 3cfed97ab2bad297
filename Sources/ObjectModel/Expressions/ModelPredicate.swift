/// An `NSPredicate` as a tree.
///
/// A tree is read from `predicateFormat` text (``init(parsing:)``) or from a keyed archive
/// (``PredicateArchiveReader``). A part that cannot be interpreted stays in the tree as ``opaque(className:)`` or
/// ``unparsed(_:)``. Both readers limit the depth of a tree.
package indirect enum ModelPredicate: Sendable, Hashable {
  case comparison(Comparison)
  /// True if all parts are true. A predicate without parts is equivalent to `TRUEPREDICATE`.
  case and([ModelPredicate])
  /// True if at least one part is true. A predicate without parts is equivalent to `FALSEPREDICATE`.
  case or([ModelPredicate])
  case not(ModelPredicate)
  /// `TRUEPREDICATE` or `FALSEPREDICATE`.
  case constant(Bool)
  /// An archived object that cannot be interpreted or exceeds a limit. The associated value is the name of its class.
  case opaque(className: String)
  /// The whole text, unchanged, if it could not be parsed. This case occurs only at the root of a tree.
  case unparsed(String)

  /// A comparison of two expressions (`NSComparisonPredicate`).
  package struct Comparison: Sendable, Hashable {
    package var left: ModelExpression
    package var `operator`: Operator
    package var right: ModelExpression
    package var modifier: Modifier
    package var options: Options
  }

  /// How two expressions are compared (`NSPredicateOperatorType`).
  package enum Operator: Sendable, Hashable {
    case lessThan
    case lessThanOrEqual
    case greaterThan
    case greaterThanOrEqual
    case equal
    case notEqual
    /// `MATCHES`: the entire text on the left matches the regular expression on the right.
    case matches
    /// `LIKE`: the text matches a pattern in which `?` and `*` are wildcards.
    case like
    case beginsWith
    case endsWith
    /// `IN`: the left side is in the right side.
    case `in`
    /// A method of the left side, called with the right side as its argument. The associated value is the method's
    /// selector, for example `isNear:`.
    case selector(String)
    /// `CONTAINS`: the right side is in the left side.
    case contains
    /// `BETWEEN`: the right side is an aggregate of two bounds, both included.
    case between
  }

  /// Whether a comparison is about the value itself, all elements of a to-many key path, or any element
  /// (`NSComparisonPredicateModifier`). The word `NONE` is read as a negated ``any``.
  package enum Modifier: Int64, Sendable, Hashable, CaseIterable {
    case direct = 0
    /// `ALL`: the comparison must be true for every element of the left side.
    case all = 1
    /// `ANY` or `SOME`: the comparison must be true for at least one element of the left side.
    case any = 2
  }

  /// The options for comparing text (`NSComparisonPredicateOptions`).
  package struct Options: OptionSet, Sendable, Hashable {
    /// The bits of `NSComparisonPredicateOptions`, as an archive stores them.
    package let rawValue: Int64

    package init(rawValue: Int64) { self.rawValue = rawValue }

    /// `[c]`: upper and lower case count as equal.
    package static let caseInsensitive = Options(rawValue: 1)
    /// `[d]`: accents and other diacritics are ignored.
    package static let diacriticInsensitive = Options(rawValue: 2)
    /// `[n]`: strings are compared byte by byte, without Unicode normalisation.
    package static let normalized = Options(rawValue: 4)
    /// `[l]`: strings are compared by the rules of the current locale.
    package static let localeSensitive = Options(rawValue: 8)
  }
}

extension ModelPredicate {
  package static func compare(
    _ left: ModelExpression, _ operator: Operator, _ right: ModelExpression,
    modifier: Modifier = .direct, options: Options = []
  ) -> ModelPredicate {
    .comparison(
      Comparison(
        left: left, operator: `operator`, right: right, modifier: modifier, options: options))
  }

  /// Whether the whole predicate was read, so that no part of it is `opaque` or `unparsed`.
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
  package var description: String { text }
}
