// Guides and operators come before the history of the project and its long lists in the results of a search.
const LATER = /^(changelog|findings|rulings|conformance|performance|design|contributing|style-guide)$/;
var Scorer = {
  score: ([page, , , , score]) => (LATER.test(page) ? score / 10 : score),
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
