((most) => {
	// What the document shows, copied into one that runs and loads nothing.
	const out = document.implementation.createHTMLDocument('');
	const copyAll = (nodes, to) => { for (const n of nodes) copy(n, to); };
	const copy = (node, to) => {
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
				copyAll(given.length ? given : node.childNodes, to);
				return;
			}
			break;
		case 'iframe': { // one without an address of its own is a part of this page
			const inner = /^https?:/i.test(node.src) ? null : node.contentDocument;
			if (inner?.body) copyAll(inner.body.childNodes, to.appendChild(out.createElement('div')));
			else to.appendChild(out.importNode(node, false));
			return;
		}
		}
		copyAll((node.shadowRoot ?? node).childNodes, to.appendChild(out.importNode(node, false)));
	};
	let html, text;
	try {
		out.removeChild(out.documentElement);
		copy(document.documentElement, out);
		const charset = out.createElement('meta');
		charset.setAttribute('charset', 'utf-8');
		out.head?.prepend(charset);
		html = '<!DOCTYPE html>' + out.documentElement.outerHTML;
		text = /\S/.test(out.body?.textContent ?? out.documentElement.textContent);
	} catch { // nested too deeply to be walked like this
		html = document.documentElement.outerHTML;
		text = true;
	}
	const large = html.length > most;
	return {html: large ? '' : html.toWellFormed(), address: location.href, text, large};
})
