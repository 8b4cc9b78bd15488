"""Interactive plans: sliders for rates and selectivities, and the plans that follow them."""
