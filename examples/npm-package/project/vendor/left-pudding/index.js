module.exports = (text, width) => " ".repeat(Math.max(0, width - text.length)) + text;
