// Parses server-sent events (HTML standard, section 9.2) from the body of a response.

/** @typedef {{name: string, data: string}} ServerEvent */

// Maximum length of a line, so that an endless line cannot fill the memory. The service's lines are much shorter.
const longest = 4 << 20;

/**
 * @param {ReadableStream<Uint8Array>} body
 * @returns {AsyncGenerator<ServerEvent>}
 */
export async function* events(body) {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = '';
  let event = fresh();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return; // an event without its final empty line is incomplete
      rest += decoder.decode(value, { stream: true });
      if (rest.length > longest) throw new Error('The service’s response is too long to show.');
      // Keep a CR at the end, because an LF may follow.
      const end = rest.endsWith('\r') ? rest.length - 1 : rest.length;
      const lines = rest.slice(0, end).split(/\r\n|\n|\r/);
      rest = (lines.pop() ?? '') + rest.slice(end);
      for (const line of lines) {
        if (line !== '') {
          take(event, line);
        } else if (event.lines.length > 0) {
          yield { name: event.name || 'message', data: event.lines.join('\n') };
          event = fresh();
        } else {
          event = fresh();
        }
      }
    }
  } finally {
    reader.cancel().catch(() => {}); // the caller has left the loop
  }
}

function fresh() {
  return { name: '', lines: /** @type {string[]} */ ([]) };
}

/** @param {{name: string, lines: string[]}} event @param {string} line */
function take(event, line) {
  const colon = line.indexOf(':');
  const field = colon < 0 ? line : line.slice(0, colon);
  const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
  if (field === 'event') event.name = value;
  if (field === 'data') event.lines.push(value);
}
