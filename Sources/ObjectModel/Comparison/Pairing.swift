/// Which old element is which new one.
///
/// Core Data's rule (Apple, "Migrating your data model automatically"): the renaming identifier is
/// the canonical name, and an element without one goes by its name. So a new element belongs to the
/// old one with the same canonical name, else to the old one whose name its identifier gives; where
/// neither is there, equal names count. What is guessed is not in here.
struct Pairing<Element> {
  private(set) var pairs: [(old: Element, new: Element)] = []
  private(set) var added: [Element] = []
  private(set) var removed: [Element] = []

  init(
    old: [Element], new: [Element], name: (Element) -> String, identifier: (Element) -> String?
  ) {
    var byCanonicalName: [String: Int] = [:]
    var byName: [String: Int] = [:]
    for (index, element) in old.enumerated() {
      let key = identifier(element) ?? name(element)
      // Where an identifier is claimed twice, the one of that very name has it.
      if byCanonicalName[key] == nil || name(element) == key { byCanonicalName[key] = index }
      byName[name(element)] = index
    }
    var partners: [Int?] = Array(repeating: nil, count: new.count)
    var taken: Set<Int> = []
    func claim(_ index: Int, _ partner: Int?) {
      guard partners[index] == nil, let partner, taken.insert(partner).inserted else { return }
      partners[index] = partner
    }
    for (index, element) in new.enumerated() {
      claim(index, byCanonicalName[identifier(element) ?? name(element)])
    }
    for (index, element) in new.enumerated() {
      if let identifier = identifier(element) { claim(index, byName[identifier]) }
    }
    for (index, element) in new.enumerated() { claim(index, byName[name(element)]) }
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
