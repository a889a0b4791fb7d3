// In the results of a search, guides and operators come first. The Python interface, the history of the project and its
// long lists come later.
const LATER = /^(changelog|findings|rulings|conformance|performance|design|contributing|style-guide)($|\/)/;
var Scorer = {
  score: ([page, , , , score]) => (LATER.test(page) ? score / 10 : page.startsWith("api/") ? score / 2 : score),
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
