"""Plans under one's hands: rates and selectivities as sliders, and the plans that follow them."""
