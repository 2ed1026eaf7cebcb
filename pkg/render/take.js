((most) => {
	// Copies what the document shows into a document that runs no scripts and loads nothing. Parsers reject trees that are
	// nested very deeply, so elements below the depth `deepest` become siblings.
	const deepest = 400;
	const out = document.implementation.createHTMLDocument('');
	out.removeChild(out.documentElement);
	const todo = []; // a stack: its last element is the next one
	const later = (nodes, to, depth) => {
		for (let n = nodes.length - 1; n >= 0; n--) todo.push({node: nodes[n], to, depth});
	};
	const copy = ({node, to, depth}) => {
		if (node.nodeType === Node.TEXT_NODE || node.nodeType === Node.CDATA_SECTION_NODE) {
			to.appendChild(out.createTextNode(node.data));
			return;
		}
		if (node.nodeType !== Node.ELEMENT_NODE) return;
		switch (node.localName) {
		case 'script': // linked data is content
			if (!/^application\/ld\+json/i.test(node.type)) return;
			break;
		case 'noscript': case 'style': case 'template':
			return;
		case 'meta': // the copy is UTF-8, whatever the original was
			if (node.hasAttribute('charset') || /^content-type$/i.test(node.httpEquiv)) return;
			break;
		case 'slot':
			if (node.getRootNode() instanceof ShadowRoot) {
				const given = node.assignedNodes({flatten: true});
				later(given.length ? given : node.childNodes, to, depth);
				return;
			}
			break;
		case 'iframe': // one without an address of its own is a part of this page
			if (!/^https?:/i.test(node.src) && node.contentDocument?.body) {
				later(node.contentDocument.body.childNodes, to.appendChild(out.createElement('div')), depth + 1);
				return;
			}
			break;
		}
		if (depth < deepest) to = to.appendChild(out.importNode(node, false));
		later((node.shadowRoot ?? node).childNodes, to, depth + 1);
	};
	later([document.documentElement], out, 0);
	while (todo.length) copy(todo.pop());
	const charset = out.createElement('meta');
	charset.setAttribute('charset', 'utf-8');
	out.head?.prepend(charset);
	const html = '<!DOCTYPE html>' + out.documentElement.outerHTML;
	const text = /\S/.test((out.body ?? out.documentElement).textContent);
	const large = html.length > most;
	return {html: large ? '' : html.toWellFormed(), address: location.href, text, large};
})
