// A small program that uses the package.
const pad = require("left-pudding");

for (const [what, price] of [["tea", 3], ["pudding", 12], ["ship", 4000]])
	console.log(pad(what, 10) + pad(String(price), 8));
