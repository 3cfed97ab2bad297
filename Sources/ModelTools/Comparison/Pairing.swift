import ObjectModel

/// The pairs of corresponding old and new elements, and the elements without a partner.
///
/// The pairs follow Core Data's rule (Apple, "Migrating your data model automatically"). An element's canonical name is
/// its renaming identifier, or its name if it has no identifier. The partner of a new element is, in this order of
/// preference:
/// 1. the old element with the same canonical name
/// 2. the old element whose name is the new element's identifier
/// 3. the old element with the same name.
///
/// Guessed renames are not used. In archives, several elements, for example indexes, may have the same name. Among
/// these, equal elements are paired first; the others are paired in their order.
struct Pairing<Element: Hashable> {
  private(set) var pairs: [(old: Element, new: Element)] = []
  private(set) var added: [Element] = []
  private(set) var removed: [Element] = []

  init(
    old: [Element], new: [Element], name: (Element) -> String, identifier: (Element) -> String?
  ) {
    var byCanonicalName: [String: Int] = [:]
    var byName: [String: [Int]] = [:]
    for (index, element) in old.enumerated() {
      let key = identifier(element) ?? name(element)
      // Several old elements may have the same canonical name. The one that is found by this name is the first element
      // whose own name equals the canonical name or, without such an element, the first of them.
      let isNamedSo = name(element) == key && byName[key] == nil
      if byCanonicalName[key] == nil || isNamedSo { byCanonicalName[key] = index }
      byName[name(element), default: []].append(index)
    }
    var partners: [Int?] = Array(repeating: nil, count: new.count)
    var taken: Set<Int> = []
    func claim(_ index: Int, _ partner: Int?) {
      guard partners[index] == nil, let partner, taken.insert(partner).inserted else { return }
      partners[index] = partner
    }
    if byName.count < old.count {
      var equals: [Element: [Int]] = [:]
      for (index, element) in old.enumerated().reversed()
      where (byName[name(element)]?.count ?? 0) > 1 {
        equals[element, default: []].append(index)
      }
      for (index, element) in new.enumerated() { claim(index, equals[element]?.popLast()) }
    }
    for (index, element) in new.enumerated() {
      claim(index, byCanonicalName[identifier(element) ?? name(element)])
    }
    for (index, element) in new.enumerated() {
      if let identifier = identifier(element) { claim(index, byName[identifier]?.first) }
    }
    // The lists are reversed so that the first index of each list can be taken with `popLast()`.
    var left = byName.mapValues { Array($0.reversed()) }
    for (index, element) in new.enumerated() where partners[index] == nil {
      while let partner = left[name(element)]?.popLast() {
        if taken.contains(partner) { continue }
        claim(index, partner)
        break
      }
    }
    for (index, element) in new.enumerated() {
      if let partner = partners[index] {
        pairs.append((old[partner], element))
      } else {
        added.append(element)
      }
    }
    removed = old.indices.filter { !taken.contains($0) }.map { old[$0] }
  }
}
