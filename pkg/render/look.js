(() => {
	const seen = globalThis.seen ??= (() => {
		const seen = {changed: performance.now()};
		new MutationObserver(() => { seen.changed = performance.now(); })
			.observe(document, {subtree: true, childList: true, characterData: true});
		return seen;
	})();
	return {address: location.href, loading: document.readyState === 'loading', quiet: performance.now() - seen.changed};
})
