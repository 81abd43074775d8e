// A log as a terminal would show it: colour codes are left out, and a line that was rewritten (a progress bar) is seen as it
// was left. Text only.

const KEPT = 2_000_000;  // characters that the page holds
const UNSEEN = /\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07]*\x07|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]/g;

/** One line as it is seen once every carriage return has done its work. */
export function seen(line) {
  const plain = line.replace(UNSEEN, "").replace(/\r+$/, "");
  return plain.slice(plain.lastIndexOf("\r") + 1);
}

export class LogView {
  constructor(place, shortened) {
    this.place = place;
    this.shortened = shortened;  // called when the beginning had to go
    this.unfinished = "";
    this.length = 0;
    this.last = document.createTextNode("");
    place.replaceChildren(this.last);
  }

  write(text, follow) {
    const lines = (this.unfinished + text).split("\n");
    this.unfinished = lines.pop();
    if (lines.length) {
      const node = document.createTextNode(lines.map(seen).join("\n") + "\n");
      this.length += node.length;
      this.place.insertBefore(node, this.last);
    }
    this.last.data = seen(this.unfinished);
    while (this.length > KEPT && this.place.firstChild.nextSibling !== this.last) {
      this.length -= this.place.firstChild.length;
      this.place.firstChild.remove();
      this.shortened();
    }
    if (follow) this.place.scrollTop = this.place.scrollHeight;
  }
}
