// Browsers don't let a page from a file read others: search results go without the text around a word.
if (location.protocol === "file:") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
