walkThrough(document, readData("steps"));
