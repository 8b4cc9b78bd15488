"""What is added up over matches and multiplied along one."""
