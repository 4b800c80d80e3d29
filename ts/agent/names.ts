/** The plugin's name: provider of its models and prefix of its log lines. */
export const PLUGIN_NAME = "local-inference";
/** Ahead of providers that register without a priority. */
export const PRIORITY = 50;
