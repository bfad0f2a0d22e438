(* Theorem permute and flip of models/mathematics.md: class j with a_j times the integral over t in [0, 1] of the product
   of 1 - a_i t over the other classes i. That this is the law of "in random order, the first accepted" is by hand. *)
From Coq Require Import Reals Lra Lia List Arith.
From Coquelicot Require Import Coquelicot.
Import ListNotations.
Open Scope R_scope.

(* the classes other than j; their chances of being accepted *)
Fixpoint product (l : list R) (t : R) : R := match l with [] => 1 | a :: l => (1 - a * t) * product l t end.
Definition chance (own : R) (l : list R) : R := own * RInt (product l) 0 1.

Lemma product_continuous l t : continuous (product l) t.
Proof.
  induction l as [|a l IH]; [apply (continuous_const (V := R_NormedModule))|].
  apply (continuous_mult (fun t => 1 - a * t) (product l)); [|exact IH].
  apply (continuous_minus (V := R_NormedModule) (fun _ => 1) (fun t => a * t)); [apply (continuous_const (V := R_UniformSpace))|].
  apply (continuous_scal_r (V := R_NormedModule) a (fun t => t)). apply continuous_id.
Qed.
Lemma integrable l a b : ex_RInt (product l) a b.
Proof. apply (ex_RInt_continuous (V := R_CompleteNormedModule)). intros. apply product_continuous. Qed.
Definition accepts (l : list R) := List.Forall (fun a => 0 <= a <= 1) l.
Lemma product_pos l t : accepts l -> 0 <= t <= 1 -> 0 <= product l t.
Proof. intros H Ht. induction H; simpl; [lra|]. apply Rmult_le_pos; nra. Qed.

(* Less accepted, scaled by r >= 1: the product is no less. *)
Lemma product_scaled r l l' s : 1 <= r -> accepts l -> accepts l' -> Forall2 (fun a a' => a' <= r * a) l l' -> 0 <= s <= 1 ->
  product l s <= product l' (/ r * s).
Proof.
  intros Hr A A' F Hs.
  assert (0 < / r <= 1) by (split; [apply Rinv_0_lt_compat; lra|rewrite <- Rinv_1; apply Rinv_le_contravar; lra]).
  induction F as [|a a' l l' Q F IH]; simpl; [lra|]. inversion_clear A as [|? ? A1 A2]; inversion_clear A' as [|? ? A1' A2'].
  apply Rmult_le_compat; [nra|apply product_pos; assumption| |apply IH; assumption].
  assert (a' * / r <= a); [|nra]. apply Rle_trans with (r * a * / r); [apply Rmult_le_compat_r; lra|right; field; lra].
Qed.

Theorem permute_and_flip : forall r own own' l l', 1 <= r -> accepts (own :: l) -> accepts (own' :: l') ->
  own <= r * own' -> Forall2 (fun a a' => a' <= r * a) l l' -> chance own l <= r * r * chance own' l'.
Proof.
  intros r own own' l l' Hr A A' H F. inversion A as [|? ? (O0 & O1) Al]; inversion A' as [|? ? (O0' & O1') Al']; subst.
  assert (Hi : 0 < / r <= 1) by (split; [apply Rinv_0_lt_compat; lra|rewrite <- Rinv_1; apply Rinv_le_contravar; lra]).
  assert (I0 : 0 <= RInt (product l) 0 1) by (apply RInt_ge_0; [lra|apply integrable|intros; apply product_pos; [assumption|lra]]).
  assert (I : RInt (product l) 0 1 <= r * RInt (product l') 0 1).
  { apply Rle_trans with (r * RInt (product l') 0 (/ r)).
    - assert (S : RInt (fun s => / r * product l' (/ r * s + 0)) 0 1 = RInt (product l') 0 (/ r)).
      { pose proof (RInt_comp_lin (V := R_CompleteNormedModule) (product l') (/ r) 0 0 1) as C. unfold scal in C; simpl in C; unfold mult in C; simpl in C.
        rewrite C by apply integrable. f_equal; ring. }
      rewrite <- S. apply Rle_trans with (r * RInt (fun s => / r * product l s) 0 1).
      + pose proof (RInt_scal (V := R_CompleteNormedModule) (product l) 0 1 (/ r) (integrable l 0 1)) as C.
        unfold scal in C; simpl in C; unfold mult in C; simpl in C. rewrite C.
        assert (U : forall x : R, x = r * (/ r * x)) by (intros; field; lra). right. apply U.
      + apply Rmult_le_compat_l; [lra|]. apply RInt_le; [lra| | |].
        * apply (ex_RInt_scal (V := R_NormedModule) (product l) 0 1 (/ r)). apply integrable.
        * apply (ex_RInt_comp_lin (V := R_NormedModule) (product l') (/ r) 0 0 1). apply integrable.
        * intros s Hs. apply Rmult_le_compat_l; [lra|]. rewrite Rplus_0_r. apply product_scaled; try assumption; lra.
    - apply Rmult_le_compat_l; [lra|]. rewrite <- (RInt_Chasles (product l') 0 (/ r) 1) by apply integrable. unfold plus; simpl.
      assert (0 <= RInt (product l') (/ r) 1); [|lra].
      apply RInt_ge_0; [lra|apply integrable|intros; apply product_pos; [assumption|lra]]. }
  unfold chance. replace (r * r * (own' * RInt (product l') 0 1)) with ((r * own') * (r * RInt (product l') 0 1)) by ring.
  apply Rmult_le_compat; lra.
Qed.

(* ---- An example, and a wrong statement refuted ---- *)
Example permute_and_flip_example : chance 1 [/ 2; / 2] <= 2 * 2 * chance (/ 2) [1; / 4].
Proof.
  apply (permute_and_flip 2 1 (/ 2) [/ 2; / 2] [1; / 4]); [lra|repeat constructor; lra|repeat constructor; lra|lra|repeat constructor; lra].
Qed.
Lemma constant a : chance a [] = a.
Proof. unfold chance. rewrite (RInt_ext _ (fun _ => 1)) by reflexivity. rewrite RInt_const. unfold scal; simpl; unfold mult; simpl. lra. Qed.
(* The own chance counts: it falls by r, and r^2 is asked for it too where the others are forgotten. *)
Fact permute_and_flip_mutant : ~ (forall r own own' l l', 1 <= r -> accepts (own :: l) -> accepts (own' :: l') ->
  own <= r * r * own' -> Forall2 (fun a a' => a' <= r * a) l l' -> chance own l <= r * chance own' l').
Proof.
  intros H. specialize (H 2 1 (/ 4) [] []). rewrite !constant in H.
  assert (1 <= 2 * / 4); [|lra]. apply H; try lra; repeat constructor; lra.
Qed.
