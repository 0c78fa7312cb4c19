// Nothing of its own. A package that depends on a product with this target has `outrider-runner` built beside its program, where
// PluginHost looks for it. PluginHost itself doesn't depend on it: each change of the runner would compile it anew.
